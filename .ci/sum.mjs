/** Prints the sum of the result files of a folder as Jest does, and as one plain line; exit code 1 when something failed. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const exitCodeOf = (file) => {
  const path = join(folder, `${basename(file, '.json')}.exit`);
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
};

const folder = process.argv[2] ?? '.test-results';
const total = { passed: 0, failed: 0, skipped: 0 };
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const result = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const passed = result.numPassedTests ?? 0;
  // A test file that could not even be loaded holds no tests, and is a failure all the same.
  const known = (result.numFailedTests ?? 0) + (result.numRuntimeErrorTestSuites ?? 0);
  // Nor may a run that ended badly after its last test pass as green.
  const failed = known === 0 && exitCodeOf(file) !== 0 ? 1 : known;
  total.passed += passed;
  total.failed += failed;
  total.skipped += (result.numPendingTests ?? 0) + (result.numTodoTests ?? 0);
  console.log(`${basename(file, '.json').padEnd(14)} ${passed} passed, ${failed} failed`);
}
const parts = [
  total.failed > 0 ? `${total.failed} failed` : '',
  total.skipped > 0 ? `${total.skipped} skipped` : '',
  `${total.passed} passed`,
  `${total.passed + total.failed + total.skipped} total`,
];
console.log(`\nTests:       ${parts.filter(Boolean).join(', ')}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
