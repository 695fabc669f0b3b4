import type { Migration } from '#store';

/** Open device logins are counted by network: whoever has one IPv6 address has its whole /64. Rows live for minutes. */
export const deviceNetworksMigration: Migration = {
  order: 29,
  name: 'gate-device-networks',
  up: `
alter table device_login add column network text not null default '';
create index device_login_network on device_login (network);
drop index device_login_address;
`,
};
