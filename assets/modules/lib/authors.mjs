/** Names and icons for the authors of checkpoints and changes. */
export const AUTHORS = {
  user: { sign: "person", name: "you" },
  agent: { sign: "robot", name: "the agent" },
  judge: { sign: "shield-check", name: "the judge" },
  system: { sign: "gear", name: "Waymark" },
};
