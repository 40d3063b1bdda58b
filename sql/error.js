/** The database cannot be used as it is. The message says what was expected and what to do. */
export class DatabaseError extends Error {}
