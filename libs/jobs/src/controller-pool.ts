/**
 * Where the jobs of the controllers themselves wait. No pool that a machine or an agent can be given is spelled like this, so none
 * of them is ever offered one; controllers claim from it under a name of their own, with leases like everybody's.
 */
export const controllerPool = '@controllers';
