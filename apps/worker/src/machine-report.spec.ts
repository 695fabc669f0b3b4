import { describe, expect, it } from '@jest/globals';
import { openLog } from './log.js';
import { MachineReport } from './machine-report.js';
import type { Provider } from './provider/port.js';

const other = process.platform === 'linux' ? 'darwin' : 'linux';

describe('what a machine says of itself', () => {
  it('H26 drops the enrolled labels that do not hold here, and adds none', async () => {
    const enrolled = [
      `os:${process.platform}`,
      `os:${other}`,
      `arch:${process.arch}`,
      'arch:s390x',
      'provider:good',
      'provider:broken',
      'provider:unknown',
      'sandbox:bwrap',
      'sandbox:microvm',
      'host:payroll',
      'gpu',
    ];
    const report = aReport(enrolled);
    await report.look();
    expect(report.now().labels).toEqual([
      `os:${process.platform}`,
      `arch:${process.arch}`,
      'provider:good',
      'sandbox:bwrap',
      'host:payroll',
      'gpu',
    ]);
    const bare = aReport([]);
    await bare.look();
    expect(bare.now().labels).toEqual([]);
  });

  it('takes a provider for unusable whose look fails', async () => {
    const report = aReport(['provider:failing']);
    await report.look();
    expect(report.now().labels).toEqual([]);
  });
});

function aReport(enrolledLabels: readonly string[]): MachineReport {
  const refuse = (): never => {
    throw new Error('not started here');
  };
  const provider = (name: string, availability: Provider['availability']): [string, Provider] => [
    name,
    { name, resumes: false, availability, start: async () => refuse() },
  ];
  return new MachineReport({
    enrolledLabels,
    slots: 2,
    host: 'here',
    gitVersion: '2.39',
    busy: () => 1,
    rungs: ['bwrap'],
    accounts: { offers: [], trouble: undefined, look: async () => {} },
    providers: new Map([
      provider('good', async () => ({ usable: true })),
      provider('broken', async () => ({ usable: false, code: 'environment', reason: 'gone', fix: 'install it' })),
      provider('failing', async () => refuse()),
    ]),
    log: openLog('silent'),
  });
}
