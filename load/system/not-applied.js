/** A target could not be had as its cell wants it. The run goes on without that cell, and says so. */
export class NotApplied extends Error {}
