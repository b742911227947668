// Prints "N passed, N failed, N skipped" over vitest JSON reports, and before it what passed only when it was run once more,
// with the reason; fails when something failed or nothing ran.
import { readFileSync } from 'node:fs';

const total = { passed: 0, failed: 0, skipped: 0 };
for (const file of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(file, 'utf8'));
  total.passed += report.numPassedTests;
  // A file that cannot even be loaded has no failed test in it, but it is a failure.
  const unloaded = report.testResults.filter(
    (result) => result.status === 'failed' && result.assertionResults.length === 0,
  );
  total.failed += report.numFailedTests + unloaded.length;
  for (const { name, assertionResults } of report.testResults) {
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status !== 'passed' || failureMessages.length === 0) continue;
      console.log(`passed only the second time: ${name}: ${fullName}\n${failureMessages.join('\n')}`);
    }
  }
  total.skipped += report.numPendingTests + report.numTodoTests;
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
