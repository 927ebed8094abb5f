/**
 * Views that the server builds for the page, and types that several rooms share. No module imports this file at run time.
 *
 * @typedef {{request_id: string, ok: boolean, text: string|null, waits?: boolean}} Reply  the server's answer to an action;
 *   a message that `waits` is to follow the answer in progress
 * @typedef {{kind: string} & Record<string, any>} Frame  of the socket: each kind has fields of its own
 * @typedef {{type: string, request_id?: string}} Action  with the fields of its type
 * @typedef {{thread?: string|null, retry?: (() => void)|null, tell?: (text: string, retry?: (() => void)|null) => void}}
 *   SendOptions  of an action; see `watchReply`
 * @typedef {(type: string, fields?: object, request_id?: string) => string} Act  reports an action and returns its request
 *   id
 *
 * @typedef {{name: string, detail?: string, offReason?: string|null, run: () => void}} CommandChoice  an argument that a
 *   command offers
 * @typedef {{group: string, name: string, detail?: string, thread?: string, offReason?: string|null, word?: string,
 *   keys?: string, hint?: string, choices?: () => CommandChoice[], run?: (argument?: string) => void, isQuote?: boolean}}
 *   Command  a line of the palette. With a `word` also a slash command of the field: `hint` names its free argument; with
 *   `choices` it needs one of them, and has no `run` of its own. `keys` do the same, as in `aria-keyshortcuts`. `offReason`
 *   says why it is not possible now
 *
 * @typedef {{id: string, name: string, preview: string, arguments: string, more_arguments: MoreView|null,
 *   status: "running"|"waiting"|"queued"|"done"|"error"|"stopped", duration_ms: number|null, result: string|null,
 *   more_result: MoreView|null, message_id: string|null, move: RequestedMove|null, question: string, work: WorkView|null,
 *   attempts: AttemptView[]}} ToolView
 * @typedef {{chars: number, address: string}} MoreView  the rest of a long text
 * @typedef {{count: number, address: string}} MoreCallsView  the calls of a message that have no card
 * @typedef {{text: string, tokens: string, tokens_hint: string, target: string, argument: string,
 *   note_label: string, words: string}} RequestedMove  the move that a goto call requests
 * @typedef {{agent: string, question: string, address: string, messages: number, waiting: ToolView[]}} WorkView  a
 *   sub-agent's work for a call
 * @typedef {{branch: string, name: string, done: boolean}} AttemptView  a prompt without a branch has an empty one
 * @typedef {{input: number, cached: number, output: number, reasoning: number}} Tokens
 * @typedef {{removed: number, before: number, after: number, address: string}} RemovalView
 * @typedef {RemovalView & {sources: string[]}} SummaryView
 * @typedef {{origin: string, address: string}} ExcerptView  of a note from another branch
 * @typedef {{kind: "image"|"file", name: string, size: number, address: string}} FileView
 * @typedef {{text: string, more: MoreView|null, duration_ms: number|null}} ReasoningView
 * @typedef {{id: string, role: "user"|"assistant"|"note", state: "done"|"partial"|"error", html: string, text: string,
 *   more: MoreView|null, person: string, label: string|null, time: string, tools: ToolView[],
 *   more_tools: MoreCallsView|null, siblings: string[], files: FileView[], trace: string|null, summary: SummaryView|null,
 *   left: RemovalView|null, excerpt: ExcerptView|null, reasoning: ReasoningView|null,
 *   usage: (Tokens & {cost: number|null})|null, model: string|null}} MessageView
 * @typedef {{id: string, state: string, error: string|null, details?: string|null, compacts?: boolean}} RunView
 * @typedef {{number: number, model: string, state: string, error: string|null, details: string|null, head: string|null,
 *   current: boolean, messages: MessageView[], usage: (Tokens & {cost: number|null})|null}} AnswerView  of one of several
 *   models; `head`: its last message
 * @typedef {{run: string, answers: AnswerView[]}} CandidatesView  the answers to the last question, where several models
 *   were asked
 * @typedef {{name: string, arguments: string, description: string, decisions: string[]}} ActionView  a call that a
 *   user graph asks about
 * @typedef {{name: string, kind: "text"|"number"|"integer"|"boolean"|"choice"|"texts"|"json", label: string,
 *   description: string, options: (string|number|boolean)[], default: string|number|boolean|null,
 *   limits: {min?: number, max?: number, minLength?: number, maxLength?: number}, required: boolean,
 *   is_null_when_empty: boolean}} FormField  of a form from a JSON schema
 * @typedef {{id: string, key: string, style: "middleware"|"inbox"|"form"|"text"|"json"|"continue", text: string,
 *   is_code: boolean, answer_schema: string, actions: ActionView[], fields: FormField[]}} QuestionView of a user graph that
 *   waits; `answer_schema`: of an answer that can be nothing but JSON
 * @typedef {{questions: string[], agent: string, html: string}} DraftView  of a subgraph, with the ids of its
 *   questions
 * @typedef {{nodes: string[], lines: string[]}} GraphProgressView  of a user graph at work
 * @typedef {{run: string, text: string, asking: boolean, waiting: boolean, complete: boolean, model: string,
 *   closable: boolean, place: string}} RerunView  `text` says how far it is
 * @typedef {{version: string, text: string, place?: string, keepable?: boolean}} Notice  describes the last operation;
 *   `place` is where a restore went, and `keepable` that it removed messages which no branch keeps
 * @typedef {{checkpoints: {id: string, name: string, created_by: "user"|"agent"|"judge"|"system"}[], more: number}}
 *   MarksView  the first checkpoints at a message, and the number of the others
 * @typedef {{messages: {id: string, role: "user"|"assistant", person: string, text: string}[], count: number,
 *   undoable: boolean, address: string}} RemovedPartView the first messages that the last restore removed
 * @typedef {{thread: string|null, version: number, title: string, messages: MessageView[], earlier: boolean, later: boolean,
 *   run: RunView|null, rerun: RerunView|null, candidates: CandidatesView|null, notice: Notice|null, marks: Record<string,
 *   MarksView>, removed: RemovedPartView|null, questions: QuestionView[], drafts?: DraftView[], greeting: string[],
 *   suggestions: string[], example?: boolean, is_graph?: boolean, read_only?: boolean, is_reader?: boolean,
 *   is_alone?: boolean}} TranscriptData
 *   `greeting`: where there are no messages, a heading and a text; `example`: one is offered; `is_graph`: a user graph
 *   answers; `read_only`: every change would be refused; `is_reader`: everywhere;
 *   `is_alone`: nobody else writes here
 *
 * @typedef {{name: string, type: string, size: number, content: Blob}} ChosenFile  a file in memory
 * @typedef {{tokens: number, exact: boolean, most: number, answer: number, messages: number, left_out: number}} MeterView
 * @typedef {{thread: string|null, opened: string|null, version: number, running: boolean, asking: boolean,
 *   rest: string|null, fill: {key: string, text: string,
 *   draft?: "below"}|null, model: string, demo: string|null, models: ModelItem[], default: string, can_connect: boolean,
 *   meter: MeterView|null, max_chars: number, limits?: string|null, graph: string,
 *   forms: Record<string, {fields: FormField[], has_messages: boolean, is_own: boolean}>,
 *   read_only?: string|null}} ComposerData  `forms`: inputs of graphs by their names; `read_only`: why nothing can be sent
 *
 * @typedef {{segment: number|null, messages: number, message: string|null}} PlaceView  after so many messages of a segment;
 *   null: at the beginning
 * @typedef {PlaceView & {id: string, name: string, position: number, description: string, more: MoreView|null,
 *   created_by: "user"|"agent"|"judge"|"system", time: string, detached: boolean, tokens: number|null, pinned: boolean,
 *   here: boolean, stands: boolean, saved_by: string|null}} CheckpointView  `stands`: a restore would change nothing; the
 *   newest of these is `here`. `saved_by`: the name of another person, empty for oneself, null where nobody knows
 * @typedef {PlaceView & {id: string, name: string, current: boolean, shared: number, given: string,
 *   next_words: string}} BranchView  `given`: its name in the page's language, if a restore gave it; `next_words` follow it
 * @typedef {PlaceView & {id: string, kind: "goto"|"rewind"|"summary", after: number|null, time: string, replaced:
 *   PlaceView|null, name: string, full_name: string, left: string, saved: string, saved_tokens: string, figures: string}}
 *   MoveView  `after`: tokens; `replaced`: the end of the path that a summary replaced; `left` with it, and what it `saved`
 * @typedef {PlaceView & {count: number, checkpoints: CheckpointView[], undoable: boolean}} RemovedView  the end that the
 *   last restore left behind
 * @typedef {{id: number, parent: number|null, from: number, message: string|null, words: string,
 *   fork_words: string, other_words: string}} SegmentView  forks from `parent` after `from` messages, at a message; `words`
 *   begin its first question or answer, `fork_words` the question of the turn in which it forks, `other_words` what follows
 *   in `parent`
 * @typedef {{thread: string|null, version: number, branch_count: number, branches: BranchView[], checkpoint_count: number,
 *   checkpoints: CheckpointView[], segments: SegmentView[], elsewhere: CheckpointView[], moves: MoveView[],
 *   alternatives: (PlaceView & {id: string})[], removed: RemovedView|null, words?: string}} HistoryPortion  the newest
 *   branches and the current one; the newest, the pinned and the current checkpoint; those of other branches are `elsewhere`
 * @typedef {HistoryPortion & {has_states: boolean, save: {enabled: boolean, reason: string|null}, read_only:
 *   string|null, owner?: string}} HistoryData  `read_only`: why nothing can be changed; `owner`: somebody else who shares it
 * @typedef {HistoryData & {thread: string}} BegunHistory  of a conversation that has begun
 *
 * @typedef {{id: string, title: string, updated: string, pinned: boolean, archived: boolean, tags: string[], owner?:
 *   string}} ThreadItem  `tags`: ids; `owner`: somebody else who shares it
 * @typedef {{threads: ThreadItem[], more?: boolean, since: string|null, gone: string[], shared?: string[],
 *   read_only?: string[], is_reader?: boolean, seen: string, current: string|null, running: string[], waiting: string[],
 *   tags: {id: string, name: string}[], open: ThreadItem|null, told: boolean}}
 *   ThreadsData  the first portion; with `since`, what has changed since that moment. `told`: the socket tells of the ends
 *   of other conversations' runs; `read_only`: the ids of those of `shared` that one only reads; `is_reader`: one only reads
 *   everywhere
 *
 * @typedef {{model?: string, instructions?: string, time_travel?: string, temperature?: string, top_p?: string,
 *   max_tokens?: string, reasoning_effort?: string, extra_body?: string, graph?: string}} Choice  settings of a
 *   conversation; empty: not chosen
 * @typedef {{choice: Choice, model: string, demo: string|null}} KeptChoice  with what the page says of the chosen model
 * @typedef {{name: string, label: string, group: string, demo: string|null, graph: string, problem: string|null}} ModelItem
 *   `group`: the place its requests go to, as "OpenAI", where its name is `label`; `demo`: the hint of the demo model;
 *   `graph`: of a user graph, its name; `problem`: the reason why it cannot be chosen
 */
export {};
