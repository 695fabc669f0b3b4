import type { IsolationReport } from '#contracts';

/** How the workspace was made, on one line: by what, warm or cold, in which time, and why not by a better way (W11). */
export function isolationText(report: IsolationReport): string {
  const { backend, requested, fell_back, reasons, prepare_ms, warm, setup } = report;
  const facts = [
    ...(warm === undefined ? [] : [warm ? 'warm' : 'cold']),
    `${prepare_ms} ms`,
    ...(setup === undefined || setup === 'none' ? [] : [`setup ${setup}`]),
    ...(requested === 'best' ? [] : [fell_back ? `in place of ${requested}` : 'as required']),
  ];
  const why = reasons.length === 0 ? '' : `; ${reasons.join('; ')}`;
  return `${backend} (${facts.join(', ')})${why}`;
}
