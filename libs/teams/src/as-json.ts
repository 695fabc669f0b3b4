import { z } from 'zod';

/** The value as it is stored and sent: what JSON has no word for is gone. */
export function asJson(value: unknown): z.output<ReturnType<typeof z.json>> {
  return z.json().parse(JSON.parse(JSON.stringify(value)));
}
