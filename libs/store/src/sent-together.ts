/**
 * The answers of statements that were sent together, in this order, on one connection, which runs them in this order: one round
 * trip. Waits for all, so that none is on its way any more when the first failure is thrown.
 */
export async function sentTogether<const Sent extends readonly unknown[]>(
  sent: Sent,
): Promise<{ -readonly [N in keyof Sent]: Awaited<Sent[N]> }> {
  await Promise.allSettled(sent);
  return await Promise.all(sent);
}
