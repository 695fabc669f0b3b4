import { FarmError, limits } from '#contracts';

/**
 * N9: an id of 40 random bits may be somebody's already; then another one is drawn. `take` answers whether it was free.
 *
 * @throws unavailable after `limits.idTries` draws
 */
export async function unusedId(draw: () => string, take: (id: string) => Promise<boolean>): Promise<string> {
  for (let n = 0; n < limits.idTries; n += 1) {
    const id = draw();
    if (await take(id)) return id;
  }
  throw new FarmError('unavailable', `No free id was found in ${limits.idTries} draws.`, { hint: 'Try again.' });
}
