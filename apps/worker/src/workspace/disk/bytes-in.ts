import { execa } from 'execa';

/** Bytes that a folder takes on its disk, without what is mounted in it. 0 where nobody can tell. */
export async function bytesIn(path: string): Promise<number> {
  const { stdout } = await execa('du', ['-skx', '--', path], { reject: false, stderr: 'ignore', stdin: 'ignore' });
  return (Number.parseInt(stdout, 10) || 0) * 1024;
}
