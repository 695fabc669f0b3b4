import { describe, expect, it } from '@jest/globals';
import { isolationText } from './isolation-text.js';

const report = {
  requested: 'best',
  backend: 'overlay',
  fell_back: false,
  reasons: [],
  prepare_ms: 12,
  capture_ms: 1,
  bytes: 0,
};

describe('the workspace of a Result', () => {
  it('W11 is one line: backend, warm or cold, time, and why others were not used', () => {
    expect(isolationText({ ...report, warm: true, setup: 'done' })).toBe('overlay (warm, 12 ms, setup done)');
    const clone = { ...report, backend: 'clone', warm: false, reasons: ['overlay: not root', 'reflink: ext4'] };
    expect(isolationText(clone)).toBe('clone (cold, 12 ms); overlay: not root; reflink: ext4');
    expect(isolationText({ ...clone, requested: 'overlay', fell_back: true })).toContain('in place of overlay');
    expect(isolationText({ ...report, requested: 'overlay' })).toBe('overlay (12 ms, as required)');
  });
});
