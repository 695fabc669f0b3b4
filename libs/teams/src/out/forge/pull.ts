import { z } from 'zod';
import type { FoundRequest } from './forge.js';

/** A pull request as GitHub and Gitea show it. */
export const Pull = z.object({
  number: z.int(),
  html_url: z.string(),
  state: z.enum(['open', 'closed']),
  merged: z.boolean().nullish(),
  merged_at: z.string().nullish(),
  head: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }).nullish() }).nullish(),
});

export function pullOf(body: unknown): FoundRequest {
  const { number, html_url: url, state, merged, merged_at } = Pull.parse(body);
  return { number, url, state: merged === true || merged_at ? 'merged' : state };
}
