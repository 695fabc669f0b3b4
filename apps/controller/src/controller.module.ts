import { type DynamicModule, Module } from '@nestjs/common';
import { BellController } from './doors/bell/bell.controller.js';
import { WaitingClaims } from './rings/waiting-claims.js';

/** What Nest holds together: the bell's handlers and the lifecycle. The rules know no framework. */
@Module({ controllers: [BellController] })
class ControllerModule {}

export function controllerModule(claims: WaitingClaims): DynamicModule {
  return { module: ControllerModule, providers: [{ provide: WaitingClaims, useValue: claims }] };
}
