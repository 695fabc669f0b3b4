import { describe, expect, it } from '@jest/globals';
import { isCiPath } from './ci-paths.js';

describe('the paths that a CI system reads', () => {
  it.each([
    '.github/workflows/test.yml',
    '.GitHub/Workflows/test.yml',
    '.github/actions/setup/action.yml',
    'tools/setup/action.yaml',
    '.github',
    '.github/workflows',
    '.gitlab-ci.yml',
    'templates/build.gitlab-ci.yml',
    '.gitlab/ci/test.yml',
    '.gitea/workflows/x.yaml',
    '.forgejo/workflows/x.yaml',
    '.circleci/config.yml',
    'Jenkinsfile',
    'deploy/Jenkinsfile.release',
    '.ci/run.sh',
    '.drone.yml',
    '.travis.yml',
    'azure-pipelines.yml',
    'pipelines/azure-pipelines-release.yml',
    'bitbucket-pipelines.yml',
    '.buildkite/pipeline.yml',
    '.tekton/push.yaml',
    '.zuul.yaml',
    '.zuul.d/jobs.yaml',
    '.evergreen.yml',
    '.pipelines/build.yml',
    'codemagic.yaml',
    'bitrise.yml',
    'codefresh.yml',
    '.harness/pipeline.yaml',
    '.vsts-ci.yml',
    '.prow.yaml',
    '.onedev-buildspec.yml',
    'netlify.toml',
    'amplify.yml',
    '.readthedocs.yaml',
    '.pre-commit-config.yaml',
  ])('H39 holds a change of %s', (path) => {
    expect(isCiPath(path)).toBe(true);
  });

  it.each([
    'src/index.ts',
    '.github/CODEOWNERS',
    '.github/ISSUE_TEMPLATE/bug.md',
    'docs/jenkins.md',
    'ci/readme.md',
    'workflows/test.yml',
    '.gitlab/issue_templates/bug.md',
    '.gitignore',
    'Jenkins/readme.md',
  ])('lets %s pass', (path) => {
    expect(isCiPath(path)).toBe(false);
  });
});
