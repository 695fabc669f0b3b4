import { z } from 'zod';

const Tool = z.looseObject({
  name: z.string().optional(),
  /** OpenAI: those of an MCP server, under its name. */
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
});
const Body = z.looseObject({ tools: z.array(Tool) });
const server = 'mcp__longshore';

/** Member operations that a model is offered in one request, of either vendor; sorted. */
export function memberTools(body: unknown): readonly string[] {
  const { tools } = Body.parse(body);
  return tools
    .flatMap(({ name = '', tools: inner = [] }) => {
      if (name === server) return inner.map((tool) => tool.name);
      return name.startsWith(`${server}__`) ? [name.slice(`${server}__`.length)] : [];
    })
    .sort();
}
