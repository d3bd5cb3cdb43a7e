import type { ContractBehaviour } from '../testing/instance-provider-contract.js';

/**
 * A shell that behaves as its environment says: it starts in a few milliseconds. SIGTERM goes to its whole group, so `sleep` ends
 * too; it is short because a shell that is signalled just before it starts `sleep` runs its trap only after it.
 */
export const scriptedProgram = {
  executable: '/bin/sh',
  args: [
    '-c',
    `case $BEHAVIOUR in
       broken) echo broken >&2; exit 3 ;;
       brief) exit 0 ;;
       stubborn) trap '' TERM ;;
       *) trap 'exit 0' TERM ;;
     esac
     echo "up $$ $*"
     while :; do sleep 0.2; done`,
    'scripted',
  ],
};

export function scriptedBehaviour(behaviour: ContractBehaviour) {
  return { environment: { BEHAVIOUR: behaviour }, args: [] };
}
