import type { z } from 'zod';
import { type FailReason, FarmError, type FarmErrorCode, type jobFail } from '#contracts';
import { faultOf } from '../log.js';
import { diskFullError, isDiskFull } from '../private-file.js';
import type { ProviderFailure } from '../provider/events.js';
import { cutDetail } from './session-end.js';

export type FailureReport = Pick<z.input<typeof jobFail.input>, 'reason' | 'retryable' | 'detail'>;

/** Faults of this machine: they spend nothing of the job's and send it elsewhere (H11). */
const machineFaults: ReadonlySet<FarmErrorCode> = new Set<FarmErrorCode>([
  'disk_full',
  'misconfigured',
  'isolation_unavailable',
]);

/** Nothing explains these but the machine, as long as nothing of the job has run on it: a git that is broken, a disk that hangs. */
const unexplained: ReadonlySet<FarmErrorCode> = new Set<FarmErrorCode>(['internal', 'timeout']);

/** The same would come out again on any machine. */
const lasting: ReadonlySet<FarmErrorCode> = new Set<FarmErrorCode>([
  'invalid_input',
  'invalid_task_path',
  'workspace_too_large',
  'commit_refused',
]);

/** Why a Dispatch could not be started, captured or uploaded, as `job_fail` says it. */
export function failureOf(error: unknown, stage: z.output<typeof FailReason>): FailureReport {
  const fault = isDiskFull(error) ? diskFullError(error) : error;
  const unstarted = stage === 'prepare_failed';
  if (!(fault instanceof FarmError)) {
    // The words of a foreign error name folders of this machine; they stand in its log.
    const detail = cutDetail(`${faultOf(fault).code}: the log of the worker says more`);
    return { reason: unstarted ? 'environment' : stage, retryable: true, detail };
  }
  const detail = cutDetail([fault.code, fault.detail, fault.hint].filter((part) => part !== undefined).join(': '));
  if (fault.code === 'workspace_unavailable') {
    const said = [fault.detail, fault.hint].filter((part) => part !== undefined).join(' ');
    return { reason: 'workspace_unavailable', retryable: false, detail: cutDetail(said) };
  }
  if (machineFaults.has(fault.code) || (unstarted && unexplained.has(fault.code)))
    return { reason: 'environment', retryable: true, detail };
  return { reason: stage, retryable: !lasting.has(fault.code), detail };
}

/** A provider that refused to start. */
export function refusalOf(failure: ProviderFailure): FailureReport {
  const detail = cutDetail(`${failure.class}: ${failure.detail}`);
  if (failure.class === 'auth' || failure.class === 'environment')
    return { reason: 'environment', retryable: true, detail };
  return { reason: 'provider_start', retryable: failure.class !== 'invalid', detail };
}
