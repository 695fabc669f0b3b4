import { describe, expect, it } from '@jest/globals';
import { catalogue } from '../catalogue.js';
import { commandWords } from './command-words.js';

describe('the words of an operation', () => {
  it('A9.1 says the group, then the rest with hyphens', () => {
    expect(commandWords({ name: 'queue_requeue', group: 'queue' })).toEqual(['queue', 'requeue']);
    expect(commandWords({ name: 'queue_requeue_all', group: 'queue' })).toEqual(['queue', 'requeue-all']);
    expect(commandWords({ name: 'mail.fetch_new', group: 'mail' })).toEqual(['mail', 'fetch-new']);
  });

  it('A9.2 says a name that is its group in one word', () => {
    expect(commandWords({ name: 'status', group: 'status' })).toEqual(['status']);
  });

  it('offers no two operations under the same words', () => {
    const words = catalogue.map(({ contract }) => commandWords(contract).join(' '));
    expect(new Set(words).size).toBe(words.length);
    expect(words).toEqual(expect.arrayContaining(['status', 'queue list', 'worker invite', 'quota set']));
  });
});
