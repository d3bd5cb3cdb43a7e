// The least that a process can be started for: it answers its first message.
process.on('message', (message) => process.send?.(message));
process.once('disconnect', () => process.exit());
