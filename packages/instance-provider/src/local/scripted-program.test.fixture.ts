import type { ContractBehaviour } from '../testing/instance-provider-contract.js';

/** A shell that behaves as its environment says: it starts in a few milliseconds. SIGTERM goes to its whole group, so `sleep` ends too. */
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
     sleep 1000`,
    'scripted',
  ],
};

export function scriptedBehaviour(behaviour: ContractBehaviour) {
  return { environment: { BEHAVIOUR: behaviour }, args: [] };
}
