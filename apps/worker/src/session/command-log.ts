import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '#contracts';
import { faultOf, type Log } from '../log.js';
import { layFile, leftOutLine } from '../workspace/command-output.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';

/**
 * What a command says, as a file for the member's next Dispatch in the same workspace. It is written beside the workspace, out of
 * the command's reach, and laid in when nothing of the command runs any more. The farm has all of it; here is the beginning.
 */
export class CommandLog {
  private written = 0;
  private leftOut = 0;
  /** Two pipes write: one chunk after the other. */
  private last: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: FileHandle | undefined,
    private readonly path: string,
    private readonly log: Log,
  ) {}

  static async open({ path: folder }: DispatchFolder, log: Log): Promise<CommandLog> {
    const path = join(folder, 'output.log');
    const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
      log.warn({ fault: faultOf(error) }, 'the output of a command can not be written down here');
      return undefined;
    });
    return new CommandLog(file, path, log);
  }

  /** A disk that is full costs the file and nothing else. */
  write(chunk: Buffer): Promise<void> {
    this.last = this.last.then(() => this.append(chunk));
    return this.last;
  }

  private async append(chunk: Buffer): Promise<void> {
    const part = chunk.subarray(0, Math.max(0, limits.commandLogBytes - this.written));
    this.leftOut += chunk.length - part.length;
    if (part.length === 0 || this.file === undefined) return;
    this.written += part.length;
    await this.file.writeFile(part).catch((error: unknown) => {
      this.leftOut += part.length;
      this.log.debug({ fault: faultOf(error) }, 'output of a command was not written down');
    });
  }

  /** In the place of what the command put there; its processes have ended. */
  async layIn(workspace: string, path: string): Promise<void> {
    if (this.file === undefined) return;
    try {
      if (this.leftOut > 0) await this.file.writeFile(leftOutLine(`${this.leftOut} bytes more are not in this file`));
      await this.file.close();
      await layFile(workspace, path, this.path);
    } catch (error) {
      this.log.warn({ fault: faultOf(error) }, 'the output of a command could not be laid into its workspace');
    }
  }

  async close(): Promise<void> {
    await this.file?.close().catch(() => undefined);
  }
}
