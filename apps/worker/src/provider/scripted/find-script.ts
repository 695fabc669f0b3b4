/**
 * Finds the script in what a Dispatch is given: a fenced block
 *
 *     ```yaml longshore-script
 *     steps: …
 *     ```
 *
 * in the Assignment's prompt or else in the instructions, or a prompt that is nothing but the script. The input is the rendered
 * request, XML elements with escaped text, or any plain text.
 */
export function findScript(instructions: string, input: string): string | undefined {
  const lanes = [promptOf(input), readText(instructions)];
  for (const lane of lanes) {
    const fenced = fencedScript(lane);
    if (fenced !== undefined) return fenced;
  }
  return lanes.map(wholeScript).find((script) => script !== undefined);
}

/** The kind of the continuation that the request tells, `none` for the first Dispatch of an Assignment. */
export function continuationKind(input: string): string {
  const element = /<continuation>([\s\S]*?)<\/continuation>/.exec(input)?.[1] ?? '';
  return /<(kind|trigger|trigger_kind)>\s*([a-z_]+)\s*<\/\1>/.exec(element)?.[2] ?? 'none';
}

/** Whose Dispatch the request is; empty in a plain text. */
export function memberOf(input: string): string {
  const element = /<current_member>([\s\S]*?)<\/current_member>/.exec(input)?.[1] ?? '';
  return /<id>([^<]*)<\/id>/.exec(element)?.[1] ?? '';
}

/** What the member is told to do: the Assignment's prompt, where that is not the script itself, and the continuation, unescaped. */
export function toldText(input: string): string {
  const continuation = /<continuation>([\s\S]*?)<\/continuation>/.exec(input)?.[1] ?? '';
  const prompt = findScript('', input) === undefined ? promptOf(input) : '';
  return `${prompt}\n${unescapeText(continuation)}`;
}

/** Of a rendered request only the Assignment's prompt: it also quotes the instructions of other members. */
function promptOf(input: string): string {
  const prompt = /<assignment>[\s\S]*?<prompt>([\s\S]*?)<\/prompt>/.exec(input)?.[1];
  return prompt === undefined ? readText(input) : unescapeText(prompt);
}

function fencedScript(text: string): string | undefined {
  const block = /^([ \t]*)```ya?ml longshore-script[ \t]*\n([\s\S]*?)^[ \t]*```/m.exec(text);
  if (block?.[2] === undefined) return undefined;
  const indent = block[1] ?? '';
  return block[2]
    .split('\n')
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n');
}

/** A text that is nothing but a script begins with one of its keys, after comments at most. */
function wholeScript(text: string): string | undefined {
  const body = text.replace(/^\n+/, '');
  return /^(?:(?:#.*|---)?\n)*(?:steps|rounds|on_reminder|on_continuation):/.test(body) ? body : undefined;
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** A lane is either XML with escaped text, or plain. */
function readText(lane: string): string {
  return lane.trimStart().startsWith('<') ? unescapeText(lane) : lane;
}

function unescapeText(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => entities[name] ?? '');
}
