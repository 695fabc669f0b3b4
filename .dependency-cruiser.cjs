/** The arrows of docs/decisions/0002: imports go one way. */
const only = (from, to) => ({
  name: `${from}-imports-only-${to.join('-') || 'nothing-of-ours'}`,
  severity: 'error',
  from: { path: `^${from}/`, pathNot: '\\.spec\\.ts$' },
  to: { path: '^(apps|libs|test)/', pathNot: [`^${from}/`, ...to.map((name) => `^libs/${name}/src/index\\.ts$`)] },
});
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    only('libs/contracts', []),
    only('libs/plugin-sdk', []),
    only('libs/store', ['contracts']),
    only('libs/git', ['contracts']),
    only('libs/gate', ['contracts', 'store']),
    only('libs/jobs', ['contracts', 'store']),
    only('libs/teams', ['contracts', 'jobs', 'git', 'store']),
    only('apps/worker', ['contracts', 'git']),
    only('apps/cli', ['contracts', 'git']),
    only('apps/controller', ['contracts', 'store', 'gate', 'jobs', 'git', 'teams']),
    {
      name: 'worker-and-cli-have-no-database',
      severity: 'error',
      from: { path: '^apps/worker/' },
      to: { path: 'node_modules/(pg|typeorm)/' },
    },
    {
      name: 'rules-know-no-door',
      comment: 'No rule knows how it was called: frameworks stand in apps only.',
      severity: 'error',
      from: { path: '^libs/(contracts|gate|jobs|git|teams)/', pathNot: '\\.spec\\.ts$' },
      to: { path: 'node_modules/(@nestjs|fastify)/' },
    },
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['longshore-source', 'import', 'node', 'default'],
      extensions: ['.ts', '.mts', '.js', '.mjs', '.json'],
    },
  },
};
