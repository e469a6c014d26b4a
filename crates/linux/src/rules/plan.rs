//! A plan: printed, carried out, and undone.

use super::command::{run, show};
use super::journal::{Journal, Recorded, RulesError};
use super::step::Step;
use super::undo::undo_recorded;
use std::fmt;

/// Steps to be carried out in order, and undone in the opposite order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// The plan as `--dry-run` prints it: of each step the purpose as a comment, the command, and the undoing as a comment.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "# {}", step.purpose.replace('\n', " "))?;
            writeln!(f, "{}", show(&step.command))?;
            match &step.undo {
                Some(undo) => writeln!(f, "#   undone by: {}", show(undo))?,
                None => writeln!(f, "#   undone with an earlier step")?,
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Carries out all steps, or none: if one fails, those before it are undone, and the error shows its command and
    /// what it said.
    pub fn apply(self, journal: Journal) -> Result<Applied, RulesError> {
        let mut applied = Applied { journal: Some(journal), steps: Vec::new() };
        for step in self.steps {
            let Some(journal) = &mut applied.journal else { break };
            let number = journal.begin(&step)?;
            // A value that is dropped on the way undoes what it holds: a step that failed is held as not done.
            applied.steps.push(Recorded { number, done: false, step });
            let Some(Recorded { done, step, .. }) = applied.steps.last_mut() else { break };
            run(&step.command)
                .map_err(|problem| RulesError::Command { command: show(&step.command), problem })?;
            *done = true;
            journal.done(number)?;
        }
        Ok(applied)
    }
}

/// Rules that are set. They are undone when this value is dropped: at the end, on an error, and on a panic.
#[derive(Debug)]
pub struct Applied {
    journal: Option<Journal>,
    steps: Vec<Recorded>,
}

impl Applied {
    /// Undoes all steps, the last one first. Steps whose undoing fails stay in the journal, and their errors are
    /// returned.
    pub fn undo(mut self) -> Vec<RulesError> {
        self.undo_all()
    }

    /// Returns the steps that are set.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().map(|recorded| &recorded.step)
    }

    fn undo_all(&mut self) -> Vec<RulesError> {
        let Some(mut journal) = self.journal.take() else { return Vec::new() };
        let mut errors = undo_recorded(&mut journal, &self.steps);
        self.steps.clear();
        if errors.is_empty() {
            errors.extend(journal.remove().err());
        }
        errors
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for error in self.undo_all() {
            tracing::error!(%error, "a rule could not be undone; see `clearwayd cleanup`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Namespace, Outcome, cleanup};
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    /// A folder of the test's own, removed with everything in it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("cw-rules-{}-{name}", std::process::id()));
            Journal::make_folder(&path).expect("the folder can be made");
            Scratch(path)
        }

        /// Makes a step that creates a folder, and removes it.
        fn step(&self, name: &str) -> Step {
            let words = |program: &str| vec![program.to_owned(), self.0.join(name).display().to_string()];
            Step { purpose: format!("Makes {name}."), command: words("mkdir"), undo: Some(words("rmdir")) }
        }

        fn has(&self, name: &str) -> bool {
            self.0.join(name).exists()
        }

        fn journals(&self) -> usize {
            let entries = fs::read_dir(&self.0).expect("the folder is there").flatten();
            entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "journal")).count()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn open(folder: &Path) -> Result<Journal, RulesError> {
        Journal::open(folder, "eth0", "a test")
    }

    #[test]
    fn a_plan_is_carried_out_and_undone_and_leaves_no_journal() {
        let scratch = Scratch::new("undone");
        let plan = Plan { steps: vec![scratch.step("a"), scratch.step("b")] };
        let applied = plan.apply(open(&scratch.0).expect("free")).expect("carried out");
        assert!(scratch.has("a") && scratch.has("b") && scratch.journals() == 1);
        assert!(applied.undo().is_empty());
        assert!(!scratch.has("a") && !scratch.has("b") && scratch.journals() == 0);
    }

    #[test]
    fn a_step_that_fails_undoes_those_before_it_and_its_command_and_words_are_shown() {
        let scratch = Scratch::new("fails");
        let mut fails = scratch.step("x/y");
        fails.undo = None;
        let plan = Plan { steps: vec![scratch.step("a"), fails, scratch.step("b")] };
        let error =
            plan.apply(open(&scratch.0).expect("free")).expect_err("the second step fails").to_string();
        assert!(
            error.starts_with("mkdir ") && error.contains("exit status: 1: mkdir: cannot create"),
            "{error}"
        );
        assert!(!scratch.has("a") && !scratch.has("b") && scratch.journals() == 0);
    }

    #[test]
    fn a_panic_undoes_what_was_set() {
        let scratch = Scratch::new("panics");
        let result = std::panic::catch_unwind(|| {
            let plan = Plan { steps: vec![scratch.step("a")] };
            let _applied = plan.apply(open(&scratch.0).expect("free")).expect("carried out");
            assert!(!scratch.has("a"), "a panic with rules that are set");
        });
        assert!(result.is_err() && !scratch.has("a") && scratch.journals() == 0);
    }

    #[test]
    fn a_second_daemon_for_a_device_is_refused_and_a_cleanup_leaves_the_first_alone() {
        let scratch = Scratch::new("twice");
        let plan = Plan { steps: vec![scratch.step("a")] };
        let applied = plan.apply(open(&scratch.0).expect("free")).expect("carried out");
        let error = open(&scratch.0).expect_err("the first lives").to_string();
        let pid = std::process::id();
        assert_eq!(
            error,
            format!("eth0: another clearwayd works on this device in this network namespace (process {pid})")
        );
        let all = cleanup(&scratch.0, None, false).expect("the folder is right");
        assert!(
            matches!(&all[..], [found] if found.device == "eth0" && matches!(found.outcome, Outcome::Lives))
        );
        assert!(scratch.has("a"));
        assert!(applied.undo().is_empty());
        Journal::open(&scratch.0, "eth0", "a test").expect("free again");
    }

    /// Leaves the journal of a daemon that died after `done` steps, while it carried out the next one.
    fn die(scratch: &Scratch, steps: &[Step], done: usize) {
        let mut journal = open(&scratch.0).expect("free");
        for step in &steps[..done] {
            let number = journal.begin(step).expect("written");
            run(&step.command).expect("carried out");
            journal.done(number).expect("written");
        }
        journal.begin(&steps[done]).expect("written");
    }

    #[test]
    fn a_cleanup_undoes_what_a_dead_daemon_left_and_a_second_one_finds_nothing() {
        let scratch = Scratch::new("cleanup");
        die(&scratch, &[scratch.step("a"), scratch.step("b"), scratch.step("c")], 2);
        // Its socket for statistics is there as well, and that of a daemon on another NIC, which lives.
        let own = Namespace::own().expect("a namespace");
        let socket = Journal::path(&scratch.0, &own, "eth0").with_extension("sock");
        let other = scratch.0.join("0-eth1.sock");
        let _sockets = [&socket, &other].map(|path| UnixListener::bind(path).expect("bound"));
        let all = cleanup(&scratch.0, Some("eth1"), false).expect("the folder is right");
        assert!(all.is_empty() && scratch.has("a"));
        let all = cleanup(&scratch.0, None, false).expect("the folder is right");
        assert!(matches!(&all[..], [found] if matches!(found.outcome, Outcome::Undone(3))), "{all:?}");
        assert!(!scratch.has("a") && !scratch.has("b"));
        assert!(!socket.exists() && other.exists());
        assert!(cleanup(&scratch.0, None, false).expect("the folder is right").is_empty());
    }

    #[test]
    fn a_step_whose_undoing_fails_stays_until_it_is_forgotten() {
        let scratch = Scratch::new("stays");
        die(&scratch, &[scratch.step("a"), scratch.step("b")], 1);
        fs::create_dir(scratch.0.join("a/x")).expect("made");
        let all = cleanup(&scratch.0, None, false).expect("the folder is right");
        let [found] = &all[..] else { panic!("{all:?}") };
        assert!(
            matches!(&found.outcome, Outcome::Failed(errors) if errors[0].to_string().contains("not empty"))
        );
        assert!(matches!(open(&scratch.0), Err(RulesError::Leftover { .. })));
        let all = cleanup(&scratch.0, None, true).expect("the folder is right");
        assert!(matches!(&all[..], [found] if matches!(found.outcome, Outcome::Forgotten(1))), "{all:?}");
        open(&scratch.0).expect("free");
    }

    #[test]
    fn a_daemon_that_starts_undoes_what_a_dead_one_left_for_its_device() {
        let scratch = Scratch::new("restart");
        die(&scratch, &[scratch.step("a"), scratch.step("b")], 1);
        open(&scratch.0).expect("free");
        assert!(!scratch.has("a"));
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("open");
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o777)).expect("set");
        let error = open(&scratch.0).expect_err("refused").to_string();
        assert!(error.contains("with mode 0777; it must belong to the user of clearwayd"), "{error}");
    }

    #[test]
    fn a_printed_plan_can_be_pasted_into_a_shell() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let steps = vec![
            Step {
                purpose: "The queue holds data.".into(),
                command: words(&["iptables", "-m", "comment", "--comment", "clearwayd: it's ours", ""]),
                undo: Some(words(&["iptables", "-D", "$OUTPUT"])),
            },
            Step { purpose: "Two\nlines.".into(), command: words(&["tc", "class"]), undo: None },
        ];
        assert_eq!(
            Plan { steps }.to_string(),
            "# The queue holds data.\n\
             iptables -m comment --comment 'clearwayd: it'\\''s ours' ''\n\
             #   undone by: iptables -D '$OUTPUT'\n\
             # Two lines.\n\
             tc class\n\
             #   undone with an earlier step\n"
        );
    }
}
