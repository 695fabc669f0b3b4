import type { HeldLease } from '../claim/held-lease.js';
import type { FreezeCause, GuardedTree } from '../process/guarded-tree.js';

interface Follower {
  /** `cause` only of a freeze. */
  onState(state: 'frozen' | 'thawed', cause?: FreezeCause): void;
  readonly beatSoon: () => void;
}

/**
 * A tree lives and rests with its lease: an answered beat or a claim that gives it back renews it and lets it go on; a freeze of
 * the guardian's is a doubt that only the next answer ends (D18, D11).
 */
export function followLease(tree: GuardedTree, lease: HeldLease, follower: Follower): void {
  const renew = () => {
    if (tree.state === 'frozen') void tree.thaw(lease.time);
    else tree.renew(lease.time);
  };
  lease.on('renewed', renew);
  lease.on('moved', renew);
  lease.on('stale', () => {
    if (tree.state === 'running') void tree.freeze();
  });
  tree.onState((state, cause) => {
    if (state === 'frozen') {
      follower.onState('frozen', cause);
      if (lease.isSure) lease.doubt();
      follower.beatSoon();
    } else if (state === 'running') {
      lease.touch();
      follower.onState('thawed');
    }
  });
  // a beat may have been answered while it started
  tree.renew(lease.time);
}
