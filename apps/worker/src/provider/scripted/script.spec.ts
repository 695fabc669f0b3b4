import { describe, expect, it } from '@jest/globals';
import { scriptWhenThereIsNone } from './example-script.js';
import { continuationKind, findScript, memberOf, toldText } from './find-script.js';
import { parseScript } from './script.js';

describe('a script', () => {
  it('names all its mistakes at once, each with its line', () => {
    const parsed = parseScript(
      [
        'steps:',
        '  - say: hello',
        '  - shout: hello',
        '  - write: {path: 7, contents: x}',
        '  - say: a',
        '    run: b',
        '  - {}',
        'later: []',
      ].join('\n'),
    );
    expect(parsed).toMatchObject({
      ok: false,
      mistakes: [
        { line: 3, message: 'There is no shout here' },
        { line: 4, message: expect.stringContaining('steps.2.write.path') },
        { line: 4, message: expect.stringContaining('steps.2.write.content') },
        { line: 4, message: 'There is no contents here' },
        { line: 5, message: expect.stringContaining('exactly one of') },
        { line: 7, message: expect.stringContaining('exactly one of') },
        { line: 8, message: 'There is no later here' },
      ],
    });
  });

  it('names what is no YAML with its line', () => {
    expect(parseScript('steps:\n  - say: "never closed\n')).toMatchObject({
      ok: false,
      mistakes: [{ line: expect.any(Number) }],
    });
    expect(parseScript('steps: &a [*a, *a]')).toMatchObject({ ok: false });
    expect(parseScript('just a sentence')).toMatchObject({ ok: false, mistakes: [{ line: 1 }] });
  });

  it('takes bare actions in each spelling', () => {
    const parsed = parseScript('steps: [hang, {crash: true}, {end: }]');
    expect(parsed).toEqual({
      ok: true,
      script: { steps: [{ hang: true }, { crash: true }, { end: true }], on_reminder: [], on_continuation: [] },
    });
  });

  it('holds in the example that is shown to those who have none', () => {
    const parsed = parseScript(scriptWhenThereIsNone);
    const details = parsed.ok ? String(parsed.script.steps?.[1]?.call?.input.details) : '';
    expect(parseScript(findScript('', details) ?? '')).toMatchObject({ ok: true });
  });
});

describe('where the script stands', () => {
  const script = 'steps:\n  - say: "a < b & c"\n';
  const fenced = `Please.\n\n\`\`\`yaml longshore-script\n${script}\`\`\`\nThanks.`;
  const escaped = fenced.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

  it('is a fenced block, indented or not, or the whole prompt', () => {
    expect(findScript('', fenced)).toBe(script);
    expect(findScript('', fenced.replaceAll(/^/gm, '    '))).toBe(script);
    expect(findScript('', `# my script\n${script}`)).toContain(script);
    expect(findScript(fenced, 'Fix the test.')).toBe(script);
    expect(findScript('Be kind.', 'In two steps: think, act.')).toBeUndefined();
  });

  it('is the own Assignment of a rendered request, unescaped, and never the instruction of another member', () => {
    const team = `<direct_team><member><instruction>${escaped.replace('Please', 'Child')}</instruction></member></direct_team>`;
    const request = (prompt: string) =>
      `<request>\n<assignment><prompt>${prompt}</prompt></assignment>\n${team}</request>`;
    expect(findScript('', request(escaped))).toBe(script);
    expect(findScript('<system>none</system>', request('Just do it.'))).toBeUndefined();
    expect(findScript(`<system>${escaped}</system>`, request('Just do it.'))).toBe(script);
  });

  it('comes with the member whose Dispatch it is, and with what it is told', () => {
    const input =
      '<r><current_member><id>lead</id></current_member><assignment><prompt>Mend &lt;a&gt;</prompt></assignment><continuation><kind>x</kind><id>b</id></continuation><other>c</other></r>';
    expect(memberOf(input)).toBe('lead');
    expect(toldText(input)).toBe('Mend <a>\n<kind>x</kind><id>b</id>');
    expect([memberOf('Go.'), toldText('Go.')]).toEqual(['', 'Go.\n']);
  });

  it('comes with the kind of the continuation', () => {
    expect(continuationKind('<r><continuation><kind>semantic_retry</kind></continuation></r>')).toBe('semantic_retry');
    expect(continuationKind('<r><assignment><kind>x</kind></assignment></r>')).toBe('none');
  });
});
