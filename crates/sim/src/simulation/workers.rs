//! The threads beside the calling one: each does a job whenever one is handed to it, and hands it back.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// The most looks for a message before a thread sleeps until it comes: about a millisecond.
const LOOKS: u64 = 1 << 15;

/// Something that a thread can do.
pub trait Job: Send + 'static {
    /// Does it.
    fn run(&mut self);

    /// Returns the number of looks for a message that take a fraction of the time that the job took. A thread waits no
    /// longer awake, so that waiting costs little where others need the processors.
    fn looks(&self) -> u64;
}

/// A thread that does what is handed to it, one job at a time. As long as the thread has not begun, whoever handed the job over
/// can do it instead: where others need the processors, it may be long before a thread that sleeps gets one.
pub struct Worker<J> {
    /// The place of the next job.
    desk: Arc<Mutex<Option<J>>>,
    /// The way to tell the thread that there is one, until it shall end.
    bell: Option<SyncSender<()>>,
    /// The way of jobs that the thread has done.
    done: Receiver<J>,
    /// The job, if it was done instead of the thread.
    own: Option<J>,
    thread: Option<JoinHandle<()>>,
    /// Set if threads may wait awake.
    has_room: bool,
}

impl<J: Job> Worker<J> {
    /// Starts so many threads. Returns none at all if the system does not give them.
    pub fn start(count: usize) -> Vec<Worker<J>> {
        if cfg!(target_family = "wasm") {
            return Vec::new();
        }
        // Who waits awake for one of more threads than there are processors only delays it.
        let has_room = available_parallelism().is_ok_and(|processors| count < processors.get());
        (0..count).map(|_| Worker::new(has_room)).collect::<Option<_>>().unwrap_or_default()
    }

    fn new(has_room: bool) -> Option<Worker<J>> {
        let desk = Arc::new(Mutex::new(None::<J>));
        let (bell, calls) = sync_channel(1);
        let (outbox, done) = sync_channel(1);
        let its_desk = Arc::clone(&desk);
        let work = move || {
            let mut looks = 0;
            while receive(&calls, looks).is_ok() {
                // A thread that comes too late for its job sleeps, since others need the processors.
                looks = 0;
                if let Some(mut job) = take(&its_desk) {
                    job.run();
                    looks = if has_room { job.looks() } else { 0 };
                    if outbox.send(job).is_err() {
                        break;
                    }
                }
            }
        };
        let thread = Builder::new().name("clearway".into()).spawn(work).ok()?;
        Some(Worker { desk, bell: Some(bell), done, own: None, thread: Some(thread), has_room })
    }

    /// Hands a job to the thread, which begins it as soon as it gets a processor.
    pub fn send(&self, job: J) {
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        if let Some(bell) = &self.bell {
            // A thread that has yet to hear the bell of an earlier job looks at its desk then; one that is gone is found
            // by `receive`.
            let _ = bell.try_send(());
        }
    }

    /// Does the job that was handed over, if the thread has not begun it.
    pub fn help(&mut self) {
        if let Some(mut job) = take(&self.desk) {
            job.run();
            self.own = Some(job);
        }
    }

    /// Waits for the job that was handed over, awake for at most so many looks.
    ///
    /// # Panics
    /// As the thread did, if it panicked.
    pub fn receive(&mut self, looks: u64) -> J {
        if let Some(job) = self.own.take() {
            return job;
        }
        let looks = if self.has_room { looks } else { 0 };
        receive(&self.done, looks).unwrap_or_else(|_| {
            let end = self.thread.take().map(JoinHandle::join);
            match end {
                Some(Err(panic)) => resume_unwind(panic),
                _ => panic!("a thread of the run ended before its part was done"),
            }
        })
    }
}

impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        self.bell = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is told where its job is waited for.
            let _ = thread.join();
        }
    }
}

fn take<J>(desk: &Mutex<Option<J>>) -> Option<J> {
    desk.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Waits for a message: awake at first, since a thread that sleeps takes longer to wake than many windows last. It never
/// yields the processor while awake: Linux then lets whoever else can run go first for a whole slice of time, which is
/// milliseconds.
fn receive<T>(from: &Receiver<T>, looks: u64) -> Result<T, RecvError> {
    for _ in 0..looks.min(LOOKS) {
        match from.try_recv() {
            Ok(message) => return Ok(message),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    from.recv()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::{self, ThreadId};

    /// A job that notes by whom and how often it was done.
    #[derive(Default)]
    struct Noted {
        by: Option<ThreadId>,
        times: u32,
        fails: bool,
    }

    impl Job for Noted {
        fn run(&mut self) {
            assert!(!self.fails, "the job fails");
            (self.by, self.times) = (Some(thread::current().id()), self.times + 1);
        }

        fn looks(&self) -> u64 {
            100
        }
    }

    #[test]
    fn a_job_is_done_by_its_thread_if_nobody_helps() {
        let mut worker = Worker::start(1).pop().expect("the system has threads");
        worker.send(Noted::default());
        let job: Noted = worker.receive(100);
        assert_eq!(job.times, 1);
        assert_ne!(job.by, Some(thread::current().id()));
    }

    #[test]
    fn a_job_that_its_thread_has_not_begun_is_done_by_who_handed_it_over() {
        let (_outbox, done) = sync_channel(1);
        let desk = Arc::default();
        // A thread that never gets a processor.
        let mut worker = Worker { desk, bell: None, done, own: None, thread: None, has_room: true };
        worker.send(Noted::default());
        worker.help();
        let job = worker.receive(100);
        assert_eq!((job.by, job.times), (Some(thread::current().id()), 1));
    }

    #[test]
    fn each_of_many_jobs_is_done_once_whoever_is_faster() {
        for has_room in [false, true] {
            let mut worker = Worker::new(has_room).expect("the system has threads");
            let mut job = Noted::default();
            for times in 1..=1000 {
                worker.send(job);
                worker.help();
                job = worker.receive(100);
                assert_eq!(job.times, times);
            }
        }
    }

    #[test]
    fn the_panic_of_a_thread_comes_out_where_its_job_is_waited_for() {
        let mut worker = Worker::start(1).pop().expect("the system has threads");
        worker.send(Noted { fails: true, ..Noted::default() });
        let panic = catch_unwind(AssertUnwindSafe(|| worker.receive(100))).err().expect("it panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the job fails"));
    }
}
