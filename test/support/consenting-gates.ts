import { z } from 'zod';
import { contract, type FarmError, type Proposal, storable } from '../../libs/contracts/src/index.js';
import {
  type Access,
  type Call,
  type FarmKeys,
  type Gate,
  type GateCall,
  type GateRules,
  Metrics,
  type Operation,
  openFarmKeys,
  openGate,
  operationFor,
  type PersonPrincipal,
  registryOf,
} from '../../libs/gate/src/index.js';
import { type Database, openDatabase, statement, type Transaction } from '../../libs/store/src/index.js';
import { aDatabase, type TestDatabase } from './database.js';
import { tempDir } from './temp-dir.js';

/** What the rules of the test did, and what they wait for in the middle of their transaction. */
interface Yard {
  readonly runs: string[];
  pause: () => Promise<void>;
}

const crateSql = {
  all: statement<Crate>(
    'test.crates',
    `select name, max from quota where starts_with(name, $prefix) order by name desc`,
  ),
  lock: statement<unknown>(
    'test.lock_crates',
    `select 1 from quota where starts_with(name, $prefix) order by name for update`,
  ),
  raise: statement<unknown>(
    'test.raise_crates',
    `update quota set max = max + $by::integer where starts_with(name, $prefix)`,
  ),
  put: statement<unknown>(
    'test.put_crate',
    `insert into quota (name, max) values ($name, $max) on conflict (name) do update set max = excluded.max`,
  ),
};

interface Crate {
  readonly name: string;
  readonly max: number;
}

const Raise = z.strictObject({
  prefix: storable(64),
  by: z.int().min(1).max(9).default(1),
  note: storable(64).optional(),
});
type Raise = z.output<typeof Raise>;
const Raised = z.strictObject({ raised: z.int() });
const operation = operationFor<Yard>();
const raising = (name: string) => contract({ name, summary: 'For a test.', input: Raise, output: Raised });
const open: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'on' };

/** Everything that begins so is raised: as many changes as there are crates. */
const rule = {
  async lock({ prefix }: Raise, _: Call<Yard>, tx: Transaction) {
    await tx.all(crateSql.lock, { prefix });
  },
  async preview({ prefix, by }: Raise, _: Call<Yard>, tx: Transaction) {
    const crates = await tx.all(crateSql.all, { prefix });
    return {
      summary: 'Raises crates',
      changes: crates.map(({ name, max }) => ({ id: name, before: { max }, after: { max: max + by } })),
    };
  },
  async run({ prefix, by }: Raise, _: unknown, { services }: Call<Yard>, tx: Transaction) {
    services.runs.push(prefix);
    const raised = await tx.run(crateSql.raise, { prefix, by });
    await services.pause();
    return { raised };
  },
};

const operations: readonly Operation<Yard>[] = [
  operation(raising('crate_raise'), open, rule),
  operation(raising('crate_lift'), open, rule),
  operation(raising('crate_give'), { ...open, approval: 'person' }, rule),
  operation(raising('crate_tell'), { ...open, answer: 'secret' }, rule),
  operation(raising('crate_rule'), { ...open, catalogue: 'admin', ceiling: 'never' }, rule),
  operation(raising('crate_index'), { ...open, internal: true }, rule),
  operation(raising('crate_send'), open, {
    ...rule,
    actsInPrepare: true as const,
    async prepare({ prefix }: Raise, { services }: Call<Yard>) {
      services.runs.push(`sent ${prefix}`);
    },
    async run() {
      return { raised: 0 };
    },
  }),
  operation(
    raising('crate_count'),
    { ...open, class: 'read' },
    {
      run: async ({ prefix }, _, __, tx) => ({ raised: (await tx.all(crateSql.all, { prefix })).length }),
    },
  ),
];

type Asked = Partial<GateCall> & { readonly token?: string };

/** One controller's gate: its own connections, the farm's database and keys. */
export interface ConsentingGate {
  readonly gate: Gate<Yard>;
  readonly yard: Yard;
  readonly database: Database;
  readonly metrics: Metrics;
  ask(name: string, input: unknown, asked?: Asked): Promise<unknown>;
  /** The code of the refusal, or `ran`. */
  codeOf(name: string, input: unknown, asked?: Asked): Promise<string>;
  refusal(name: string, input: unknown, asked?: Asked): Promise<FarmError>;
  /** What an agent is told that the call would do. */
  propose(name: string, input: unknown, asked?: Asked): Promise<Proposal & { readonly confirmation_token: string }>;
}

export interface ConsentingFarm {
  readonly keys: FarmKeys;
  readonly copy: TestDatabase;
  readonly owner: Database;
  aGate(rules?: Partial<GateRules>): ConsentingGate;
  crates(prefix: string, many: number, max?: number): Promise<void>;
  /** By name, in the rows' own order. */
  look(prefix: string): Promise<readonly number[]>;
  sql<Row>(text: string): Promise<readonly Row[]>;
  closeGates(): Promise<void>;
  reopen(): void;
  close(): Promise<void>;
}

export const anAssistantOf = (id: string): Pick<GateCall, 'door' | 'principal'> => ({
  door: 'mcp',
  principal: aPerson(id),
});

export const aPerson = (id: string, role: PersonPrincipal['role'] = 'operator'): PersonPrincipal => ({
  kind: 'person',
  id,
  name: id,
  role,
});

/** Several gates over one database, as several controllers are. */
export async function aConsentingFarm(): Promise<ConsentingFarm> {
  const copy = await aDatabase();
  const keys = await openFarmKeys(tempDir('keys'));
  let owner = openDatabase({ url: copy.ownerUrl, max: 2 });
  const gates: ConsentingGate[] = [];
  let statements = 0;
  const farm: ConsentingFarm = {
    keys,
    copy,
    get owner() {
      return owner;
    },
    aGate(rules) {
      const made = openConsentingGate(copy, keys, rules);
      gates.push(made);
      return made;
    },
    async crates(prefix, many, max = 1) {
      for (let n = 0; n < many; n += 1) await owner.run(crateSql.put, { name: `${prefix}${100 + n}`, max });
    },
    async look(prefix) {
      return (await owner.all(crateSql.all, { prefix })).map(({ max }) => max).reverse();
    },
    async sql<Row>(text: string) {
      statements += 1;
      return await owner.all(statement<Row>(`test.sql_${statements}`, text));
    },
    async closeGates() {
      await Promise.all(gates.splice(0).map(({ database }) => database.close()));
    },
    reopen() {
      owner = openDatabase({ url: copy.ownerUrl, max: 2 });
    },
    async close() {
      await farm.closeGates();
      await owner.close();
    },
  };
  return farm;
}

function openConsentingGate(copy: TestDatabase, keys: FarmKeys, rules?: Partial<GateRules>): ConsentingGate {
  const database = openDatabase({ url: copy.appUrl, max: 6 });
  const yard: Yard = { runs: [], pause: async () => {} };
  const metrics = new Metrics();
  const gate = openGate({
    registry: registryOf(operations),
    services: yard,
    database,
    inputs: keys.inputs,
    metrics,
    rules: { confirmTtlSeconds: 300, maxPendingConfirmations: 64, proposalChangesShown: 20, ...rules },
  });
  const ask: ConsentingGate['ask'] = (name, input, { token, ...asked } = {}) =>
    gate.call({
      ...anAssistantOf('p_aaaaaaaa'),
      name,
      input,
      signal: new AbortController().signal,
      ...(token !== undefined && { confirmationToken: token }),
      ...asked,
    });
  const refusal: ConsentingGate['refusal'] = (name, input, asked) =>
    ask(name, input, asked).then(
      () => {
        throw new Error('it was not refused');
      },
      (error: FarmError) => error,
    );
  return {
    gate,
    yard,
    database,
    metrics,
    ask,
    refusal,
    codeOf: (name, input, asked) =>
      ask(name, input, asked).then(
        () => 'ran',
        ({ code }: FarmError) => code,
      ),
    async propose(name, input, asked) {
      const { code, proposal } = await refusal(name, input, asked);
      const token = proposal?.confirmation_token;
      if (code !== 'confirmation_required' || !proposal || token === undefined) throw new Error(`no proposal: ${code}`);
      return { ...proposal, confirmation_token: token };
    },
  };
}
