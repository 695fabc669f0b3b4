import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Transport } from '@nestjs/microservices';
import { bells } from '#contracts';
import { WaitingClaims } from '../../rings/waiting-claims.js';

/** Another controller has work: those who wait here look again. */
@Controller()
export class BellController {
  constructor(@Inject(WaitingClaims) private readonly claims: WaitingClaims) {}

  @EventPattern(bells.controllers, Transport.NATS)
  lookAgain(_ring: unknown): void {
    this.claims.wakeAll();
  }
}
