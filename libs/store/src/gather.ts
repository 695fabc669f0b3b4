export interface GatherOptions<Ask, Answer> {
  /** Only asks of one kind go together; kinds take turns. */
  readonly kindOf: (ask: Ask) => unknown;
  /** Asks of one group at most. */
  readonly most: number;
  /** A group that is late by so much holds up the next no longer. */
  readonly lateMs: number;
  /** Answers in the order of the asks. What it throws is thrown to all of the group. */
  readonly together: (asks: readonly Ask[]) => Promise<readonly (Answer | undefined)[]>;
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: what comes in one turn of the event loop goes together at once; what comes while a group is on its way goes with
 * the next. One group is on its way at a time, of whatever kind: two side by side would be smaller, and each costs the same. Nobody
 * waits for company: a lone ask costs what it costs alone, and the more come, the less each costs.
 */
export function gather<Ask, Answer>(options: GatherOptions<Ask, Answer>): (ask: Ask) => Promise<Answer | undefined> {
  const { kindOf, most, lateMs, together } = options;
  /** By kind; the one that has waited longest is first. */
  const waiting = new Map<unknown, Waiting<Ask, Answer>[]>();
  /** A group is on its way, or goes with the end of this turn. */
  let isBusy = false;

  const serve = async (group: readonly Waiting<Ask, Answer>[]): Promise<void> => {
    try {
      const answers = await together(group.map(({ ask }) => ask));
      for (const [n, { resolve }] of group.entries()) resolve(answers[n]);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };
  const takeGroup = (): readonly Waiting<Ask, Answer>[] => {
    const [first] = waiting;
    if (!first) return [];
    const [kind, asks] = first;
    const group = asks.splice(0, most);
    waiting.delete(kind);
    // What did not fit is behind the other kinds.
    if (asks.length > 0) waiting.set(kind, asks);
    return group;
  };
  const next = (): void => {
    const group = takeGroup();
    isBusy = group.length > 0;
    if (!isBusy) return;
    const once = oneTime(() => setImmediate(next));
    const late = setTimeout(once, lateMs);
    void serve(group).then(() => {
      clearTimeout(late);
      once();
    });
  };

  return (ask) =>
    new Promise((resolve, reject) => {
      const kind = kindOf(ask);
      const asks = waiting.get(kind);
      if (asks) asks.push({ ask, resolve, reject });
      else waiting.set(kind, [{ ask, resolve, reject }]);
      if (isBusy) return;
      isBusy = true;
      setImmediate(next);
    });
}

function oneTime(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
