import { type FarmError, limits } from '#contracts';

/** What a session is told whose turn ended without a handover. */
export function reminderText(count: number): string {
  return [
    'Your turn ended, but you have not handed over.',
    'Go on if there is work left. When you are done or can not go on, call `checkpoint` with the outcome `green`, `blocked` or',
    `\`retry\`: without it nothing of your work counts as finished.${lastOf(count)}`,
  ].join(' ');
}

/** The same where it did hand over and the farm refused it: the member's own error, and the way out (D1). */
export function refusalText(count: number, { detail, hint }: FarmError): string {
  return [
    'Your handover was refused when the work arrived, and nothing of it was changed.',
    detail,
    ...(hint === undefined ? [] : [hint]),
    `Put it right and hand over again with \`checkpoint\`: until then nothing of your work counts as finished.${lastOf(count)}`,
  ].join(' ');
}

const lastOf = (count: number) => (count >= limits.handoverReminders ? ' This is the last reminder.' : '');
