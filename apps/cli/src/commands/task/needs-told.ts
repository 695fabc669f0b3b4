import type { TaskView } from '#contracts';
import type { Screen } from '../../output/screen.js';
import { plainLine } from '../../output/terminal-text.js';
import { drawRequests } from './draw-task.js';

/** Tells a person who watches what needs them, each thing once. */
export class NeedsTold {
  private attention = '';
  private asked = '';

  constructor(
    private readonly screen: Screen,
    private readonly tell: (write: () => void) => void,
  ) {}

  /** What members ask, with the way to answer it. */
  askedIn(view: TaskView): void {
    const { screen } = this;
    const open = view.human_requests.filter(({ status }) => status === 'open');
    const now = open.map(({ request_id }) => request_id).join();
    if (now !== '' && now !== this.asked)
      this.tell(() => screen.say(`\n${drawRequests(view, screen.tint).join('\n')}\n`));
    this.asked = now;
  }

  attentionIn({ attention }: TaskView): void {
    const { screen } = this;
    const now = attention.map(({ summary }) => plainLine(summary)).join(' ');
    if (now !== '' && now !== this.attention) this.tell(() => screen.say(`${screen.tint.yellow('needs you')}: ${now}`));
    this.attention = now;
  }
}
