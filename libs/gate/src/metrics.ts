type LabelValues = Readonly<Record<string, string>>;

/** A count that only rises, by labels. Label values come from our own code, never from a caller. */
export interface Counter {
  add(labels?: LabelValues, by?: number): void;
}

/** The counters of a process, as /metrics prints them. */
export class Metrics {
  private readonly counters = new Map<string, { readonly help: string; readonly values: Map<string, number> }>();
  private readonly gauges = new Map<string, { readonly help: string; readonly read: () => number }>();

  counter(name: string, help: string): Counter {
    const { values } = this.counters.get(name) ?? { values: new Map<string, number>() };
    this.counters.set(name, { help, values });
    return {
      add(labels = {}, by = 1) {
        const key = labelText(labels);
        values.set(key, (values.get(key) ?? 0) + by);
      },
    };
  }

  gauge(name: string, help: string, read: () => number): void {
    this.gauges.set(name, { help, read });
  }

  /** The value of one counter, for who wants to know. */
  valueOf(name: string, labels: LabelValues = {}): number {
    return this.counters.get(name)?.values.get(labelText(labels)) ?? 0;
  }

  /** Prometheus text exposition format 0.0.4. */
  print(): string {
    const lines: string[] = [];
    for (const [name, { help, values }] of this.counters) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`);
      for (const [labels, value] of values) lines.push(`${name}${labels} ${value}`);
    }
    for (const [name, { help, read }] of this.gauges)
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${read()}`);
    return `${lines.join('\n')}\n`;
  }
}

function labelText(labels: LabelValues): string {
  const names = Object.keys(labels).sort();
  if (names.length === 0) return '';
  return `{${names.map((name) => `${name}="${labels[name]}"`).join(',')}}`;
}
