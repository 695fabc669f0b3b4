import { FarmError } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import type { ProviderSession } from '../provider/port.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { OwnerNotes } from '../workspace/owner-notes.js';
import type { Ending } from './ending.js';
import type { Prepared } from './preparation.js';
import type { RunNeeds } from './run-needs.js';
import type { SessionPlace } from './session-place.js';

/** What a session that goes on after its process is started with; `count` of the reminder that it is. */
export interface Resumption {
  readonly ref: string;
  readonly count: number;
  readonly text: string;
}

interface SessionGround {
  readonly needs: RunNeeds;
  readonly lease: HeldLease;
  readonly folder: DispatchFolder;
  readonly ending: Ending;
  readonly notes: OwnerNotes;
  readonly place: SessionPlace;
}

/** Starts the provider under a lease that is sure. @throws FarmError stale_lease · the ending's reason · what the provider says */
export async function startSession(
  { needs, lease, folder, ending, notes, place }: SessionGround,
  { provider, request, payload, program, arguments: rest }: Prepared,
  again: Resumption | undefined,
): Promise<ProviderSession> {
  for (let tries = 0; ; tries += 1) {
    // nothing starts under a lease that is in doubt (I4)
    if ((await lease.sure()) === 'lost') throw new FarmError('stale_lease');
    ending.signal.throwIfAborted();
    if (notes.marker.tree_epoch !== lease.epoch) await notes.write({ tree_epoch: lease.epoch });
    try {
      return await provider.start({
        marker: { worker: needs.worker, job: lease.job, epoch: lease.epoch },
        lease: lease.time,
        workspace: folder.work,
        stateFolder: folder.state,
        instructions: request.instructions,
        input: again?.text ?? request.input,
        ...(again === undefined ? {} : { resume: { ref: again.ref } }),
        repositoryInstructions: payload.extension_mode !== 'isolated',
        ...place.requestParts(needs.environment),
        ...(program === undefined ? {} : { program }),
        ...(rest === undefined ? {} : { arguments: rest }),
        ...(payload.model === undefined ? {} : { model: payload.model }),
        ...(payload.effort === undefined ? {} : { effort: payload.effort }),
      });
    } catch (error) {
      // its time ran out between the look and the start: ask the farm again
      if (!(error instanceof FarmError) || error.code !== 'stale_lease' || tries >= 2) throw error;
      lease.doubt();
      needs.beatSoon();
    }
  }
}
