"""The dialogs of the page."""

from dash_bootstrap_components import Modal

from components import page


def test_no_dialog_fades() -> None:
    """One that is closed in its first moments would stay above the page, unseen (see `dialog.modal`)."""
    dialogs = [each for each in page.layout()._traverse() if isinstance(each, Modal)]
    assert len(dialogs) > 5
    assert [each.id for each in dialogs if each.fade is not False] == []
