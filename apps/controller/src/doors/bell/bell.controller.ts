import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Transport } from '@nestjs/microservices';
import { bells, workerOfBell } from '#contracts';
import { WaitingClaims } from '../../rings/waiting-claims.js';

/** Any controller has work: those who wait here look again, or the one that it chose. */
@Controller()
export class BellController {
  constructor(@Inject(WaitingClaims) private readonly claims: WaitingClaims) {}

  @EventPattern(bells.controllers, Transport.NATS)
  lookAgain(_ring: unknown): void {
    this.claims.wakeAll();
  }

  @EventPattern(bells.workers, Transport.NATS)
  lookFor(subject: string): void {
    const worker = workerOfBell(subject);
    if (worker === undefined) this.claims.wakeAll();
    else this.claims.wakeWorker(worker);
  }
}
