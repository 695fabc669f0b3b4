import pg from 'pg';
import { z } from 'zod';

/** What the process that started the run tells its test workers, by the environment. */
const TestRun = z.strictObject({
  /** A temporary folder that goes with the run. */
  folder: z.string(),
  ownerUrl: z.string(),
  appPassword: z.string(),
  /** All databases of this run begin with it. */
  prefix: z.string(),
  template: z.string(),
  /** Why there is no usable template. */
  failure: z.string().exactOptional(),
});
export type TestRun = Readonly<z.infer<typeof TestRun>>;

const variable = 'LONGSHORE_TEST_RUN';

export function announceRun(run: TestRun): void {
  process.env[variable] = JSON.stringify(run);
}

/** Whether a run is there already: what is started within one shares its servers. */
export function announced(): boolean {
  return process.env[variable] !== undefined;
}

export function testRun(): TestRun {
  const text = process.env[variable];
  if (text === undefined)
    throw new Error('No test run here: start the tests with `npm test`, or Jest with this repository’s configuration.');
  return TestRun.parse(JSON.parse(text));
}

export async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
