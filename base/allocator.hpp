#pragma once

namespace controllers {

/// Settings of the allocator for a process with many threads: few arenas instead of one for each thread, and what is
/// large goes back to the system as soon as it is freed. Call it before the first thread starts.
void prepare_allocator();

/// Gives free memory back to the system. Other threads that allocate may wait for it: tens of milliseconds.
void return_free_memory();

}  // namespace controllers
