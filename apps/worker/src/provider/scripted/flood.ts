import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Step } from './script.js';
import type { StepScene } from './step-scene.js';

const block = 64 * 1024;

/** Writes far more than anybody asked for, as fast as it is read. */
export async function flood(wish: NonNullable<Step['flood']>, scene: StepScene): Promise<void> {
  for (let left = wish.bytes; left > 0 && !scene.interrupted.aborted; left -= block) {
    const size = Math.min(left, block);
    switch (wish.as) {
      case 'messages':
        for (let part = size; part > 0; part -= 1_024)
          await scene.emit({ type: 'message', text: 'x'.repeat(Math.min(part, 1_024)) });
        break;
      case 'noise':
        await put(process.stdout, `${'n'.repeat(127)}\n`.repeat(Math.ceil(size / 128)));
        break;
      case 'line':
        await put(process.stdout, 'l'.repeat(size));
        break;
      case 'stderr':
        await put(process.stderr, 'e'.repeat(size));
        break;
    }
  }
  if (wish.as === 'line') await put(process.stdout, '\n');
}

async function put(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
