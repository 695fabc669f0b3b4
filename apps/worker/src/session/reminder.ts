import { limits } from '#contracts';

/** What a session is told whose turn ended without a handover. */
export function reminderText(count: number): string {
  const left = limits.handoverReminders - count;
  const last = left === 0 ? ' This is the last reminder.' : '';
  return [
    'Your turn ended, but you have not handed over.',
    'Go on if there is work left. When you are done or can not go on, call `checkpoint` with the outcome `green`, `blocked` or',
    `\`retry\`: without it nothing of your work counts as finished.${last}`,
  ].join(' ');
}
