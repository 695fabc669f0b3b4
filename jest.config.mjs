const source = { '^(\\.{1,2}/.*)\\.js$': '$1' };
const project = (displayName, testMatch) => ({
  displayName,
  testMatch,
  transform: { '^.+\\.ts$': '@swc/jest' },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: source,
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['longshore-source', 'node', 'node-addons'] },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
});
export default {
  // For what hangs, not for what is slow; test/run.mjs says more for each suite.
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  projects: [
    project('unit', [
      '<rootDir>/libs/**/*.spec.ts',
      '<rootDir>/apps/**/*.spec.ts',
      '<rootDir>/test/house/**/*.spec.ts',
    ]),
    project('e2e', ['<rootDir>/test/e2e/**/*.spec.ts', '<rootDir>/test/conformance/**/*.spec.ts']),
    project('adversarial', ['<rootDir>/test/adversarial/**/*.spec.ts']),
    project('sim', ['<rootDir>/test/sim/**/*.spec.ts']),
    project('providers', ['<rootDir>/test/providers/**/*.spec.ts']),
  ],
};
