/** Waits for the work, so long at most; what takes longer goes on. */
export async function soonest(work: Promise<unknown>, atMostMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, atMostMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
