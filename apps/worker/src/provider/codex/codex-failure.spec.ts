import { describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { RateLimits, TurnError } from './app-server-messages.js';
import { failureOfTurn } from './codex-failure.js';
import { failureOfExec } from './exec-events.js';

const now = 1_795_992_245_000;

describe('why a turn of Codex failed', () => {
  it.each([
    ['usageLimitExceeded', 'rate_limit'],
    ['rateLimitExceeded', 'rate_limit'],
    [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, 'rate_limit'],
    [{ httpConnectionFailed: { httpStatusCode: 401 } }, 'auth'],
    [{ httpConnectionFailed: { httpStatusCode: 403 } }, 'auth'],
    ['unauthorized', 'auth'],
    ['serverOverloaded', 'overload'],
    ['internalServerError', 'overload'],
    [{ httpConnectionFailed: { httpStatusCode: 529 } }, 'overload'],
    [{ httpConnectionFailed: { httpStatusCode: null } }, 'overload'],
    ['modelNotFound', 'invalid'],
    ['contextWindowExceeded', 'invalid'],
    ['sandboxError', 'environment'],
    ['other', 'crash'],
    ['not a word', 'crash'],
    [null, 'crash'],
    [{ invented: { next: 'year' } }, 'crash'],
  ])('%j is %s', (codexErrorInfo, expected) => {
    const failure = failureOfTurn(TurnError.parse({ message: 'Bearer sk-secret', codexErrorInfo }), { now });
    expect(failure.class).toBe(expected);
    expect(failure.detail).not.toMatch(/secret|not a word/);
  });

  it('takes the reason of its retries where its last word is only "other", as after a stream that was cut', () => {
    const error = TurnError.parse({ message: 'stream disconnected before completion', codexErrorInfo: 'other' });
    const retried = { responseStreamDisconnected: { httpStatusCode: null } };
    expect(failureOfTurn(error, { now, retried })).toMatchObject({ class: 'overload' });
  });

  it('knows a request that can never run by its type', () => {
    const message = '{"error":{"message":"bad thing","type":"invalid_request_error"}}';
    expect(failureOfTurn(TurnError.parse({ message, codexErrorInfo: 'other' }), { now })).toMatchObject({
      class: 'invalid',
    });
  });

  it('waits until the last window of the account that is full is over', () => {
    const window = (usedPercent: number, resetsAt: number | null) => ({
      usedPercent,
      windowDurationMins: 300,
      resetsAt,
    });
    const wait = (primary: unknown, secondary: unknown) =>
      failureOfTurn(TurnError.parse({ codexErrorInfo: 'usageLimitExceeded' }), {
        now,
        rateLimits: RateLimits.parse({ primary, secondary }),
      });
    const inAnHour = now / 1_000 + 3_600;
    expect(wait(window(100, inAnHour), window(40, inAnHour * 2))).toMatchObject({ retry_after_ms: 3_600_000 });
    expect(wait(window(100, inAnHour), window(100, inAnHour + 60))).toMatchObject({ retry_after_ms: 3_660_000 });
    expect(wait(null, null)).toMatchObject({ retry_after_ms: limits.limitedRetryMs });
    expect(wait(window(100, now / 1_000 - 5), null)).toMatchObject({ retry_after_ms: limits.limitedRetryMs });
  });

  it.each([
    ['You’ve hit your usage limit. Upgrade to Pro or try again at 11:49 PM.', 'rate_limit'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 'rate_limit'],
    ['unexpected status 401 Unauthorized: Incorrect, url: http://127.0.0.1:45543/v1/responses', 'auth'],
    ['Selected model is at capacity. Please try a different model.', 'overload'],
    ['unexpected status 529 <unknown status code>: oops, url: http://127.0.0.1:46031/v1/responses', 'overload'],
    ['stream disconnected before completion: error sending request', 'overload'],
    ['something else', 'crash'],
  ])('exec says only words: %s', (words, expected) => {
    const failure = failureOfExec(words);
    expect(failure.class).toBe(expected);
    expect(failure.detail).not.toContain('http://');
  });
});
