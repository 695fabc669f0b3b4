export interface GatherOptions<Ask, Answer> {
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
 * the next. Nobody waits for company: a lone ask costs what it costs alone, and the more come, the less each costs.
 */
export function gather<Ask, Answer>(options: GatherOptions<Ask, Answer>): (ask: Ask) => Promise<Answer | undefined> {
  const { most, lateMs, together } = options;
  const waiting: Waiting<Ask, Answer>[] = [];
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
  const next = (): void => {
    isBusy = waiting.length > 0;
    if (!isBusy) return;
    const once = oneTime(next);
    const late = setTimeout(once, lateMs);
    void serve(waiting.splice(0, most)).then(() => {
      clearTimeout(late);
      once();
    });
  };

  return (ask) =>
    new Promise((resolve, reject) => {
      waiting.push({ ask, resolve, reject });
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
