import { FarmError } from '#contracts';

/** Where git-lfs looks when nobody says otherwise; what the repository's .lfsconfig says is a stranger's word (H30). */
export function lfsEndpoint(url: string): string {
  return `${url.replace(/\/+$/, '').replace(/\.git$/, '')}.git/info/lfs`;
}

export function needsHttps(): FarmError {
  return new FarmError('source_refused', 'Files of git-lfs are fetched over https only, and this URL is another one.', {
    hint: 'Give the https URL of the repository, or register it without --lfs: Tasks then work with the pointers.',
  });
}
