import { exposureList, exposureSet } from '#contracts';
import { listExposure, previewExposure, setExposure } from '#gate';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

type Word = 'on' | 'off' | 'default';

/** No agent offers itself anything: the ceiling is never, and no file lifts it (A3.7, A3.9). */
export const exposureSetOperation = operation(
  exposureSet,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never' },
  {
    async preview({ target, offered }, { services }, tx) {
      const change = await previewExposure(tx, target, wishOf(offered), services.registry);
      const [before, after] = [wordOf(change.before), wordOf(change.after)];
      const summary = `Sets ${target} from ${before} to ${after}; offered then: ${change.offered.join(', ') || 'nothing of it'}`;
      return { summary, changes: [{ id: target, before, after }] };
    },
    async run({ target, offered }, _, { services, principal }, tx) {
      // Switching off in an emergency is anybody's who may.
      if (offered !== 'off') onlyPerson(principal);
      const change = await setExposure(tx, target, wishOf(offered), principal.id, services.registry);
      return {
        target,
        before: wordOf(change.before),
        after: wordOf(change.after),
        offered: [...change.offered],
      };
    },
  },
);

export const exposureListOperation = operation(
  exposureList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run({ target }, _, { services }, tx) {
      const { operations, settings } = await listExposure(tx, services.registry, target);
      return {
        operations: operations.map(({ operation: { name, access }, offered, lifted, why }) => ({
          name,
          offered,
          ceiling: access.ceiling,
          lifted,
          why,
        })),
        settings: settings.map(({ target, owner, offered, changed_by, changed_at }) => ({
          target,
          owner,
          offered,
          changed_by,
          changed_at: changed_at.toISOString(),
        })),
      };
    },
  },
);

function wishOf(word: Word): boolean | null {
  return word === 'default' ? null : word === 'on';
}

function wordOf(wish: boolean | null): Word {
  if (wish === null) return 'default';
  return wish ? 'on' : 'off';
}
