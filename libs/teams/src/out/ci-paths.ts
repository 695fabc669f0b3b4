/**
 * Paths whose content a CI system runs or reads its orders from, in lower case; a name ending with `/` is a folder with all in it.
 * What such a file includes from elsewhere can not be known from its name.
 */
const atTop: readonly string[] = [
  '.github/workflows/',
  '.github/actions/',
  '.gitlab-ci.yml',
  '.gitlab-ci.yaml',
  '.gitlab-ci/',
  '.gitlab/ci/',
  '.gitea/',
  '.forgejo/',
  '.circleci/',
  '.ci/',
  '.buildkite/',
  '.builds/',
  '.build.yml',
  '.semaphore/',
  '.teamcity/',
  '.woodpecker/',
  '.woodpecker.yml',
  '.woodpecker.yaml',
  '.drone.yml',
  '.drone.yaml',
  '.drone.star',
  '.drone.jsonnet',
  '.travis.yml',
  '.appveyor.yml',
  'appveyor.yml',
  '.cirrus.yml',
  '.cirrus.star',
  '.azure-pipelines/',
  'azure-pipelines.yml',
  'azure-pipelines.yaml',
  '.azuredevops/',
  'bitbucket-pipelines.yml',
  'buildspec.yml',
  'buildspec.yaml',
  'cloudbuild.yml',
  'cloudbuild.yaml',
  'wercker.yml',
  '.screwdriver.yaml',
  '.tekton/',
  '.zuul.yaml',
  '.zuul.d/',
  'zuul.yaml',
  'zuul.d/',
  '.evergreen.yml',
  '.pipelines/',
  'codemagic.yaml',
  'bitrise.yml',
  'codefresh.yml',
  '.harness/',
  '.vsts-ci.yml',
  '.prow.yaml',
  '.onedev-buildspec.yml',
  'netlify.toml',
  'amplify.yml',
  '.readthedocs.yaml',
  '.readthedocs.yml',
  '.pre-commit-config.yaml',
];

/** In whichever folder it lies. */
const anywhere =
  /(^|\/)(jenkinsfile[^/]*|[^/]+\.jenkinsfile|[^/]*\.gitlab-ci\.ya?ml|azure-pipelines[^/]*\.ya?ml|action\.ya?ml)$/;

/**
 * Whether a change at this path needs a person's approval before it is pushed (H39). A folder above such a path counts too, as a
 * link or a submodule that takes its place brings other files in; letters in the other case count, as they do on some systems.
 */
export function isCiPath(path: string): boolean {
  const plain = path.toLowerCase();
  if (anywhere.test(plain)) return true;
  return atTop.some((name) => {
    const folder = name.endsWith('/');
    const bare = folder ? name.slice(0, -1) : name;
    return plain === bare || (folder && plain.startsWith(name)) || name.startsWith(`${plain}/`);
  });
}
