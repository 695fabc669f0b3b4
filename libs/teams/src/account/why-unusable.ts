import type { AccountOffer } from '#contracts';
import type { Machine } from './choose-account.js';

/** Most machines that are told: each has the same to mend. */
const most = 3;

/** What machines say of accounts that they have and can not use, for whoever can mend it: ` (on north: …)`; empty when none has one. */
export function whyUnusable(machines: readonly Machine[], isIt: (offer: AccountOffer) => boolean): string {
  const said = machines.flatMap(({ id, name = id, unusable = [] }) =>
    unusable.filter(isIt).map((offer) => `account ${offer.name} on ${name}: ${offer.reason ?? 'it can not be used.'}`),
  );
  return said.length === 0 ? '' : ` (${said.slice(0, most).join('; ')})`;
}
