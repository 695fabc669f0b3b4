import { FarmError } from '#contracts';

/** The member's own error, as a refusal of its handover (D1). */
export function asRefusal(error: FarmError): FarmError {
  return new FarmError('handover_refused', `${error.code}: ${error.detail}`, {
    hint: error.hint ?? 'Nothing was changed. Put it right and hand over again.',
    cause: error,
  });
}
