import { proveSandbox } from '../../farm/sandbox.js';
import { failureOf } from '../../output/failure.js';
import { type Finding, ok, warning } from './check.js';

/** Runs each rung of the sandbox: what is read in files of the system says less than one program that ran behind it. */
export async function checkSandbox(): Promise<readonly Finding[]> {
  try {
    return (await proveSandbox()).map(({ rung, works, found, fix }) =>
      works ? ok(`sandbox ${rung}`, found) : warning(`sandbox ${rung}`, found, fix ?? 'Run `longshore doctor` again.'),
    );
  } catch (error) {
    const { message } = failureOf(error);
    return [
      warning('sandbox', `it could not be tried: ${message.split('\n')[0]}`, 'Run `npm ci` again on this machine.'),
    ];
  }
}
